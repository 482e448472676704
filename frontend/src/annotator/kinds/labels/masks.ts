/**
 * Masks, the groups of the kind `labels` (learning/class_ballots.py): bit `k` is set if the image
 * has label `k`. An image in no group has no label.
 */
import { LEFT } from '../../grouping';

/** The numbers of the labels in a mask, in order. */
export function labelsIn(mask: number): number[] {
  if (mask <= 0) return [];
  return Array.from({ length: 31 - Math.clz32(mask) + 1 }, (_, k) => k).filter(
    (k) => (mask >> k) & 1,
  );
}

/** The masks after a label is switched on for all chosen images, or off if all of them have it. */
export function switched(
  masks: readonly number[],
  chosen: readonly boolean[],
  label: number,
): number[] {
  const bit = 1 << label;
  const isOn = masks.every((mask, k) => !chosen[k] || (mask > 0 && mask & bit));
  return masks.map((mask, k) => {
    if (!chosen[k]) return mask;
    const now = isOn ? mask & ~bit : Math.max(mask, 0) | bit;
    return now === 0 ? LEFT : now;
  });
}
