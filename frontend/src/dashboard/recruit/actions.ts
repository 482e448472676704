/** Actions that ask for words first. */
import type { Action } from './attention';

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
