/**
 * Whether this page is a read-only view for visitors without an account, and its addresses.
 * The server sets `data-root` on the page, such as `/view/0190…`; requesters' pages have none.
 */
const root = globalThis.document?.documentElement.dataset['root'] ?? '';

export const isReadOnlyView = root !== '';

/** An address of this site, as this page may open it. */
export function addressOf(path: string): string {
  return root + path;
}

/** A page of a campaign: `place` is what follows, such as `map?selected=1`. */
export function campaignPage(campaignId: string, place: string): string {
  return addressOf(`/campaigns/${campaignId}/${place}`);
}
