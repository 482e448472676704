/** What is looked for in a collection, and its address. */

export interface Query {
  search: string;
  /** Pairs `name:value`; those of one name are alternatives. */
  attribute: readonly string[];
  /** Names of attributes that the image may lack. */
  missing: readonly string[];
  /** `position`, `filename`, `size`, `features` or `attribute:name`. */
  sort: string;
  descending: boolean;
}

export const nothingWanted: Query = {
  search: '',
  attribute: [],
  missing: [],
  sort: 'position',
  descending: false,
};

export function isFiltered(query: Query): boolean {
  return query.search.trim() !== '' || query.attribute.length > 0 || query.missing.length > 0;
}

export function addressOf(id: string, query: Query, offset: number, limit: number): string {
  const parameters = new URLSearchParams({ offset: String(offset), limit: String(limit) });
  if (query.search.trim()) parameters.set('search', query.search);
  for (const pair of query.attribute) parameters.append('attribute', pair);
  for (const name of query.missing) parameters.append('missing', name);
  if (query.sort !== 'position') parameters.set('sort', query.sort);
  if (query.descending) parameters.set('descending', 'true');
  return `/api/v1/collections/${id}/images?${parameters}`;
}

/** A list with the value in it, or without it if it was. */
export function toggled(list: readonly string[], value: string): string[] {
  return list.includes(value) ? list.filter((one) => one !== value) : [...list, value];
}

/** As a click on a column's head changes the order: up, down, up… */
export function sortedBy(query: Query, sort: string): Query {
  return { ...query, sort, descending: query.sort === sort && !query.descending };
}
