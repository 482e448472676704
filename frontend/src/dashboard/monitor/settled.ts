/** How settled the nearest neighbours are, in words. */
import type { Neighbours, Progress } from '../../api/types';
import { amount } from '../../lib/format';

export type Settled = NonNullable<Progress['settled']>;
type Needed = Settled['needed'];

/** What is known: "71 % of the 10 nearest neighbours would be the same …". */
export function settledText(settled: Settled): string {
  const { share, low, high, n_neighbors, n_answers } = settled;
  const nearest = n_neighbors === 1 ? 'nearest neighbour' : `${n_neighbors} nearest neighbours`;
  return (
    `${percent(share)} of each image’s ${nearest} would be the same with ` +
    `${n_answers.toLocaleString('en')} other answers (${range(points(low), percent(high))}).`
  );
}

/** What it takes until the target is reached. `left`: answers of the budget that are not given. */
export function neededText(settled: Settled, currency: string, left: number): string {
  const { aim, target, predicts, is_enough, needed, needed_least, needed_most } = settled;
  const share = target === null ? percent(aim) : `the target of ${percent(aim)}`;
  if (!predicts) {
    return (
      'One half of the answers does not predict the other, so this says nothing yet' +
      (target === null ? '.' : ', and the campaign does not end.')
    );
  }
  if (needed.answers === 0 && (is_enough || target === null)) return `This reaches ${share}.`;
  if (needed.answers === 0) {
    return `This may reach ${share}. The campaign ends when the lower end of the range does.`;
  }
  if (needed.answers === null) return `No number of answers is expected to reach ${share}.`;
  const most = needed_most.answers === null ? 'no limit' : count(needed_most);
  const answers = `about ${count(needed)} more answers (${range(count(needed_least), most)})`;
  const sum = costs(needed, needed_least, needed_most, currency);
  const budget = needed.answers > left ? ', more than the budget has left' : '';
  return `Until ${share}: ${answers}${sum}${budget}.`;
}

/** "7 of these 10 would stay (6 – 8)", for the neighbours of one image. */
export function keptText(kept: NonNullable<Neighbours['kept']>): string {
  const { expected, low, high, of } = kept;
  const between = range(String(Math.floor(low)), String(Math.ceil(high)));
  return `${Math.round(expected)} of the ${of} nearest would stay with as many other answers (${between}).`;
}

function costs(needed: Needed, least: Needed, most: Needed, currency: string): string {
  if (!needed.cents) return '';
  const between =
    least.cents !== null && most.cents !== null
      ? ` (${range(amount(least.cents, currency), amount(most.cents, currency))})`
      : '';
  return `, about ${amount(needed.cents, currency)}${between}`;
}

/** With two digits: an estimate is not more exact. */
function count({ answers }: Needed): string {
  return Number((answers ?? 0).toPrecision(2)).toLocaleString('en');
}

/** With a space at which lines do not break. */
function percent(share: number): string {
  return `${points(share)}\u00a0%`;
}

function points(share: number): string {
  return String(Math.round(100 * share));
}

function range(low: string, high: string): string {
  return low === high ? low : `${low} – ${high}`;
}
