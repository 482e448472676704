/** The attributes that a model learned, as colours and axes of its map. */
import type { LearnedAttribute } from '../../api/types';
import { attributeWords } from '../annotators/about';
import type { Entry } from './colouring';
import { axesOf, type Method } from './layout';

/** A label of an axis: what it shows, and the words at its two ends. */
export interface AxisLabel {
  name: string;
  low: string;
  high: string;
}

export interface AxisLabels {
  across: AxisLabel;
  up: AxisLabel | null;
}

/** The requester's name, the annotators' words, or the number. */
export function learnedName(attribute: LearnedAttribute): string {
  const { index, name, overall } = attribute;
  if (overall && !name) return 'overall similarity';
  return attributeWords(attribute) || `attribute ${index}`;
}

/** The axes that are suggested: the two attributes that most answers are about. Null if there are
 * not two that have an order. */
export function suggestedAxes(attributes: readonly LearnedAttribute[]): Method | null {
  const [first, second] = attributes.filter(({ ordered }) => ordered);
  return first && second ? `axes-${first.index}-${second.index}` : null;
}

/** What stands at the axes of a layout. */
export function labelsOf(method: Method, attributes: readonly LearnedAttribute[]): AxisLabels {
  const axes = axesOf(method);
  if (axes) {
    const [across, up] = axes.map((index) => labelOf(index, attributes)) as [AxisLabel, AxisLabel];
    return { across, up };
  }
  if (method === 'tsne') {
    return { across: plain('t-SNE: only which images are close means something'), up: null };
  }
  return { across: plain('1st principal axis'), up: plain('2nd principal axis') };
}

/** A legend of places along an attribute says at its ends what they mean. */
export function withWords(legend: Entry[], attribute: LearnedAttribute | undefined): Entry[] {
  if (!attribute?.ordered || legend.length < 2) return legend;
  const [low, high] = [attribute.low[0], attribute.high[0]];
  return legend.map((entry, k) => {
    const word = k === 0 ? low : k === legend.length - 1 ? high : undefined;
    return word ? { ...entry, label: `${entry.label} ${word}` } : entry;
  });
}

function labelOf(index: number, attributes: readonly LearnedAttribute[]): AxisLabel {
  const attribute = attributes.find((each) => each.index === index);
  if (!attribute) return plain(`attribute ${index}`);
  const [low = '', high = ''] = [attribute.low[0], attribute.high[0]];
  // Without a name, the words at the ends say it all.
  const name = attribute.name || (low && high ? '' : `attribute ${index}`);
  return { name, low, high };
}

function plain(name: string): AxisLabel {
  return { name, low: '', high: '' };
}
