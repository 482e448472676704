/** What of the map stands in the page's address, so that a link shows the same. */
import { methodOf, type Method } from './layout';

export interface Shown {
  /** Null: the newest. */
  model: number | null;
  /** `attribute:colour`, `learned:2`, `annotator:3`, `clustering:…`, `label:probability`, `settled`, or empty. */
  colour: string;
  selected: number | null;
  layout: Method;
}

export function readAddress(search: string): Shown {
  const query = new URLSearchParams(search);
  const number = (name: string) => {
    const text = query.get(name) ?? '';
    return /^\d{1,9}$/.test(text) ? Number(text) : null;
  };
  return {
    model: number('model'),
    colour: query.get('colour') ?? '',
    selected: number('selected'),
    layout: methodOf(query.get('layout')),
  };
}

/** The query of an address, with what is not of the map left as it was. */
export function writeAddress(search: string, shown: Shown): string {
  const query = new URLSearchParams(search);
  const layout = shown.layout === 'pca' ? '' : shown.layout;
  for (const [name, value] of Object.entries({ ...shown, layout })) {
    if (value === null || value === '') query.delete(name);
    else query.set(name, String(value));
  }
  const text = query.toString();
  return text ? `?${text}` : '';
}
