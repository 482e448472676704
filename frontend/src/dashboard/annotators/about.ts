/** What an answer is about, in words. */
import type { AnswerAttribute } from '../../api/types';
import { percent } from '../insight';

const NAMED_CLUSTERS = 3;

/** "About attribute 2: red – blue (83 %)"; the probability is that of the newest model. */
export function aboutText(found: AnswerAttribute): string {
  const sure = `(${percent(found.probability)})`;
  if (found.attribute === null) return `About none of the attributes ${sure}`;
  if (found.overall) return `Follows ${found.name || 'the overall similarity'} ${sure}`;
  const words = attributeWords(found);
  return `About attribute ${found.attribute}${words ? `: ${words}` : ''} ${sure}`;
}

/** Its name, or the annotators' words for its clusters or its two sides; empty without any. */
export function attributeWords({
  name,
  low,
  high,
  clusters,
}: Pick<AnswerAttribute, 'name' | 'low' | 'high' | 'clusters'>): string {
  if (name) return name;
  const groups = [...new Set(clusters.flatMap((words) => words.slice(0, 1)))];
  if (groups.length > 1) return groups.slice(0, NAMED_CLUSTERS).join(', ');
  return [low[0], high[0]].filter((word) => word !== undefined).join(' – ');
}
