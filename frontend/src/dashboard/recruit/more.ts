/** More places on a recruitment that stands. */
import type { Estimate, Recruitment } from '../../api/types';

/** By how much its limit is to be raised, so that `places` more can be paid for: with all bonuses
 * that they may earn, and those of the places before them that nobody has submitted. */
export function lackingFor(
  recruitment: Pick<Recruitment, 'places' | 'submissions'> & {
    readonly money: Pick<Recruitment['money'], 'left_cents'>;
  },
  estimate: Estimate,
  places: number,
): number {
  const left = recruitment.money.left_cents;
  if (left === null) return 0;
  // A bonus is counted as promised once its work was submitted.
  const { submissions } = recruitment;
  const handedIn = (submissions['approved'] ?? 0) + (submissions['rejected'] ?? 0);
  const open = Math.max(0, recruitment.places - handedIn);
  const each = places > 0 ? (estimate.bonuses_cents + estimate.bonus_fees_cents) / places : 0;
  return Math.max(0, Math.ceil(estimate.total_cents + each * open - left));
}
