/** Sentences on what is kept of who people were. */
import type { Forgotten, KnownPeople } from '../../api/types';

function people(n: number): string {
  return n === 1 ? '1 person' : `${n.toLocaleString('en')} people`;
}

/** What is kept, of how many, and until when. */
export function keptText({ people: n, unsettled, until }: KnownPeople): string {
  if (n === 0) return 'Nothing is kept of who people were.';
  const kept = `Of ${people(n)} the platform’s id, or the name on your list, is kept, to pay them.`;
  const open = unsettled > 0 ? ` With ${unsettled.toLocaleString('en')} not all is settled.` : '';
  const end =
    until === null ? '' : ` After ${until.slice(0, 10)} they are forgotten by themselves.`;
  return `${kept}${open}${end} Answers are kept by numbers alone, and stay.`;
}

export function forgottenText({ forgotten, kept }: Forgotten): string {
  const rest =
    kept > 0 ? ` ${people(kept)} stay known until their money and work are settled.` : '';
  return `${people(forgotten)} forgotten.${rest}`;
}
