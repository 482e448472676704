/** Sentences on asking others again for answers that are left out. */
import type { AskAgain } from '../../api/types';
import { amount } from '../../lib/format';

function answers(n: number): string {
  return n === 1 ? '1 answer' : `${n.toLocaleString('en')} answers`;
}

/** What asking again does and costs, for those who are about to do it. */
export function askAgainText(price: AskAgain): string {
  if (price.answers === 0) return 'None of these answers fills a place, so none is asked again.';
  const cost =
    price.cost_cents > 0
      ? `: about ${amount(price.cost_cents, price.currency)} more, with fees`
      : '';
  const asked = `${answers(price.answers)} will be asked again${cost}.`;
  if (!price.reopens) return asked;
  const earlier =
    price.open > 0 ? ` ${answers(price.open)} of others are still to be asked again, too.` : '';
  return `${asked}${earlier} The campaign has finished. It runs again for these answers only.`;
}

/** "60 answers asked again, 12 of them still open", or nothing. */
export function askedAgainText(n: number, open: number): string {
  if (n === 0) return '';
  return open > 0
    ? `${answers(n)} asked again, ${open.toLocaleString('en')} still open`
    : `${answers(n)} asked again`;
}

/** What rejecting does to the answers, with and without asking again. */
export const OF_REJECTED = {
  note: 'The rejected answers are left out of learning.',
  otherwise:
    'Nobody is asked again. The rejected answers stay in learning and count toward the budget, although they are not paid.',
};
