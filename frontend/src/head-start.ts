/**
 * A head start: asks for the session, and for the first grid's images, while the rest of the script
 * is still on its way. Whatever goes wrong here is left to the page, which asks again.
 */
import { NO_COOKIES, openingOf, ROOT } from './annotator/api';
import { type Arrival, arrivalBehindLink, readArrival } from './annotator/arrival';
import { shownFirst } from './annotator/finished';
import { finishedKey, isSomebodyElse } from './annotator/identity';
import type { Session } from './api/types';

export interface HeadStart {
  readonly session: Session;
  /** The first grid's small images, if it could be leased at once. */
  readonly images: Promise<ArrayBuffer> | null;
}

let start: Promise<HeadStart | null> | null = null;

/** What was asked for early, once; null where nothing came of it. */
export async function takeHeadStart(): Promise<HeadStart | null> {
  const taken = start;
  start = null;
  return taken;
}

async function ask(arrival: Arrival): Promise<HeadStart | null> {
  const { path, body } = openingOf(arrival);
  const headers = { 'Content-Type': 'application/json' };
  const init = { method: 'POST', headers, body: JSON.stringify(body), ...NO_COOKIES };
  const reply = await fetch(ROOT + path, init);
  if (!reply.ok) return null;
  const session = (await reply.json()) as Session;
  const lease = session.next?.lease;
  const coming = lease ? images(session.token, lease.id) : null;
  // It may fail before the page is there to notice.
  coming?.catch(() => {});
  return { session, images: coming };
}

async function images(token: string, lease: string): Promise<ArrayBuffer> {
  const headers = { Authorization: `Bearer ${token}` };
  const reply = await fetch(`${ROOT}/leases/${lease}/images/small`, { headers, ...NO_COOKIES });
  if (!reply.ok) throw new Error(`images: ${reply.status}`);
  return reply.arrayBuffer();
}

/** What an address says of a person stands at the end of the page. */
async function fromPage(): Promise<Arrival | null> {
  if (document.readyState === 'loading') {
    await new Promise((parsed) =>
      document.addEventListener('readystatechange', parsed, { once: true }),
    );
  }
  const main = document.getElementById('annotator');
  return main && readArrival(main);
}

async function askFromPage(): Promise<HeadStart | null> {
  const arrival = await fromPage();
  return arrival && askIfNew(arrival);
}

/** What a link has done with is shown again; on a platform, that is for the server to say. */
async function askIfNew(arrival: Arrival): Promise<HeadStart | null> {
  const { channel, place } = arrival;
  const isNew = shownFirst(finishedKey(place)) === null && !isSomebodyElse(place);
  return channel !== 'link' || isNew ? ask(arrival) : null;
}

// /a/LINK, or /a/PLATFORM/LINK
const [, root, ...rest] = location.pathname.split('/');
const link = decodeURIComponent(rest[0] ?? '');
if (root === 'a' && rest.length === 1 && location.search === '') {
  start = askIfNew(arrivalBehindLink(link)).catch(() => null);
} else if (root === 'a') {
  start = askFromPage().catch(() => null);
}
