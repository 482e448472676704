/** Places of a dry run's chart: answers on a logarithmic axis, quality from 0 to 1. */
import { linear, type Domain } from '../../lib/scale';

export interface Frame {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

export interface Scale {
  x(answers: number): number;
  y(share: number): number;
}

export function scaleOf(frame: Frame, least: number, most: number): Scale {
  const domain: Domain = [Math.log(Math.max(1, least)), Math.log(Math.max(most, least + 1))];
  const log = linear(domain, [frame.left, frame.right]);
  return {
    x: (answers) => log(Math.log(Math.max(1, answers))),
    y: linear([0, 1], [frame.bottom, frame.top]),
  };
}

/** Round figures between two counts, at most about five. */
export function ticks(least: number, most: number): number[] {
  const all: number[] = [];
  for (let unit = 1; unit <= most; unit *= 10) all.push(unit, 2 * unit, 5 * unit);
  const inside = all.filter((one) => one >= least && one <= most);
  const every = Math.ceil(inside.length / 5);
  return inside.filter((_, index) => index % every === 0);
}

export interface Mean {
  readonly answers: number;
  readonly right: number;
}

/** The mean of the points with as many answers, by answers. */
export function means(points: readonly Mean[]): Mean[] {
  const groups = new Map<number, number[]>();
  for (const { answers, right } of points) {
    groups.set(answers, [...(groups.get(answers) ?? []), right]);
  }
  return [...groups]
    .sort(([one], [other]) => one - other)
    .map(([answers, all]) => ({
      answers,
      right: all.reduce((sum, one) => sum + one, 0) / all.length,
    }));
}
