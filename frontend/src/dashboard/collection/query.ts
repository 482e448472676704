/** What is looked for in a collection. */

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

/** As the server takes it. */
export function parametersOf({ search, attribute, missing, sort, descending }: Query) {
  return {
    search: search.trim() ? search : undefined,
    attribute: [...attribute],
    missing: [...missing],
    sort,
    descending,
  };
}

/** A list with the value in it, or without it if it was. */
export function toggled(list: readonly string[], value: string): string[] {
  return list.includes(value) ? list.filter((one) => one !== value) : [...list, value];
}

/** As a click on a column's head changes the order: up, down, up… */
export function sortedBy(query: Query, sort: string): Query {
  return { ...query, sort, descending: query.sort === sort && !query.descending };
}
