/** A dry run in words. */
import type { RecruitmentDryRun } from '../../api/types';
import { CHOICES, places } from './words';

/** "9 + 9 + 2 places"; equal ones are counted: "22 × 9 + 2 places". */
export function sizesOf(postings: RecruitmentDryRun['postings']): string {
  const sizes = postings.map((one) => one.places);
  if (sizes.length <= 1) return places(sizes[0] ?? 0);
  if (sizes.length <= 4) return `${sizes.join(' + ')} places`;
  const first = sizes[0] ?? 0;
  const equal = sizes.filter((one) => one === first).length;
  const rest = sizes.filter((one) => one !== first);
  return `${[`${equal} × ${first}`, ...rest].join(' + ')} places`;
}

/** Whom the settings let in, in one sentence. */
export function conditionsOf(settings: Record<string, unknown>): string {
  const countries = (settings['countries'] ?? []) as string[];
  const percent = Number(settings['min_percent_approved'] ?? 0);
  const approved = Number(settings['min_approved'] ?? 0);
  const devices = (settings['devices'] ?? []) as string[];
  const parts = [countries.length > 0 ? `People in ${countries.join(', ')}` : 'Everybody'];
  if (percent > 0) parts.push(`with ${percent} % or more of their work approved`);
  if (approved > 0) parts.push(`with ${approved} or more approved tasks`);
  if (devices.length > 0 && devices.length < 3) {
    parts.push(`on ${devices.map((one) => CHOICES[one] ?? one).join(' or ')}`);
  }
  if (settings['exclude_former']) parts.push('once each');
  return `${parts.join(', ')}.`;
}
