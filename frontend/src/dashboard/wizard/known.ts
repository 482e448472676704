/** Known answers from an attribute of the collection. */
import type { Campaign } from '../../api/types';

type Annotation = Campaign['annotation'];

/** Known answers are of no use until somebody is asked for them. */
const USUAL = { practice: 1, gold_share: 0.1 };
const NONE = { practice: 0, gold_share: 0 };

/** The settings to save when an attribute was chosen, or a value of it; null while a value has to be
 * chosen. `values`: of the attribute, if one of them is needed. */
export function choiceOfKnown(
  annotation: Pick<Annotation, 'practice' | 'gold_share' | 'known_value'>,
  attribute: string,
  value: string,
  values: readonly string[] | undefined,
): Record<string, unknown> | null {
  if (attribute === '') return { known_attribute: '', ...NONE };
  const usual = annotation.practice || annotation.gold_share ? {} : USUAL;
  if (values === undefined) return { known_attribute: attribute, ...usual };
  const wanted = value || (annotation.known_value ?? '');
  if (!values.includes(wanted)) return null;
  return { known_attribute: attribute, known_value: wanted, ...usual };
}

/** What the launch says of them. */
export function knownText(
  { known_attribute, known_value }: Pick<Annotation, 'known_attribute' | 'known_value'>,
  kind: { needs_known_value: boolean; known_rule: string } | undefined,
): string {
  if (!known_attribute) return '';
  if (kind?.needs_known_value) {
    return `Images whose “${known_attribute}” is “${known_value}” are to be ticked, all others are not.`;
  }
  return `By “${known_attribute}”: ${lowered(kind?.known_rule ?? '')}`;
}

/** What a simulated crowd can be made to answer by. */
export function crowdChoices(
  { known_attribute, known_value }: Pick<Annotation, 'known_attribute' | 'known_value'>,
  kind: { needs_known_value: boolean; votes: boolean } | undefined,
  groupings: { attributes: readonly string[]; features: boolean } | null,
): string[] {
  const known = known_attribute ?? '';
  const isComplete = (groupings?.attributes ?? []).includes(known);
  if (kind?.needs_known_value)
    return [...(isComplete ? [`${known}=${known_value}`] : []), 'imagined'];
  return [
    ...(groupings?.attributes ?? []),
    ...(groupings?.features && !kind?.votes ? ['features'] : []),
    'imagined',
  ];
}

function lowered(sentence: string): string {
  return sentence.charAt(0).toLowerCase() + sentence.slice(1);
}
