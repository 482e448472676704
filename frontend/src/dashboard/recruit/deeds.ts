/** Deeds that ask for words first. */
import type { Deed } from './attention';

interface Form {
  readonly question: string;
  readonly help: string;
  readonly button: string;
  readonly required: boolean;
}

export const FORM_OF: Partial<Record<Deed, Form>> = {
  reject: { question: 'Why is it rejected?', help: '', button: 'Reject', required: true },
  dismiss: {
    question: 'Why is nothing to be done?',
    help: 'Stays with the work and in the audit log.',
    button: 'Do nothing',
    required: true,
  },
  cancel: {
    question: 'Why is it not paid?',
    help: 'Stays with the payment.',
    button: 'Cancel the payment',
    required: false,
  },
};
