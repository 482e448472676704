/** What is sent for an action, and which actions ask for words first. */
import { at, type CampaignApi } from '../../api/client';
import type { Action, Item } from './attention';

export interface Decision {
  readonly reason: string;
  readonly category?: string;
  readonly amount_cents?: number | null;
  readonly part?: boolean;
  readonly ask_again?: boolean;
}

/** The request that carries out an action on an item. */
export function callOf(
  api: CampaignApi,
  { lost, payment, submission }: Item,
  action: Action,
  { reason, category = '', amount_cents, part = false, ask_again = true }: Decision,
): Promise<{ data?: unknown }> {
  const bonus = { amount_cents: amount_cents ?? 0, reason };
  if (action === 'compensate') {
    const place = at({ assignment_id: lost?.assignment_id ?? '' });
    return api.POST('/assignments/{assignment_id}/compensate', { ...place, body: bonus });
  }
  if (submission) {
    const place = at({ submission_id: submission.id });
    switch (action) {
      case 'part':
        return api.POST('/submissions/{submission_id}/bonus', {
          ...place,
          body: { ...bonus, part },
        });
      case 'reject':
        return api.POST('/submissions/{submission_id}/reject', {
          ...place,
          body: { reason, category, ask_again },
        });
      case 'dismiss':
        return api.POST('/submissions/{submission_id}/dismiss', {
          ...place,
          body: { reason, ask_again },
        });
      default:
        return api.POST('/submissions/{submission_id}/approve', { ...place, body: { reason } });
    }
  }
  const decision = action as 'release' | 'cancel' | 'paid' | 'unpaid';
  const place = at({ payment_id: payment?.id ?? '', decision });
  return api.POST('/payments/{payment_id}/{decision}', { ...place, body: { reason } });
}

interface Form {
  readonly question: string;
  readonly help: string;
  readonly button: string;
  readonly required: boolean;
}

export const FORM_OF: Partial<Record<Action, Form>> = {
  reject: { question: 'Why do you reject it?', help: '', button: 'Reject', required: true },
  dismiss: {
    question: 'Why should nothing be done?',
    help: 'Saved with the work and in the audit log.',
    button: 'Do nothing',
    required: true,
  },
  cancel: {
    question: 'Why should it not be paid?',
    help: 'Saved with the payment.',
    button: 'Cancel the payment',
    required: false,
  },
};
