/** What of the map stands in the page's address, so that a link shows the same. */

export interface Shown {
  /** Null: the newest. */
  model: number | null;
  /** `attribute:colour`, `annotator:3`, `clustering:…`, `label:probability`, or empty. */
  colour: string;
  selected: number | null;
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
  };
}

/** The query of an address, with what is not of the map left as it was. */
export function writeAddress(search: string, { model, colour, selected }: Shown): string {
  const query = new URLSearchParams(search);
  for (const [name, value] of Object.entries({ model, colour, selected })) {
    if (value === null || value === '') query.delete(name);
    else query.set(name, String(value));
  }
  const text = query.toString();
  return text ? `?${text}` : '';
}
