/**
 * A head start: asks for the session, and for the first grid's images, while the rest of the script
 * is still on its way. Whatever goes wrong here is left to the page, which asks again.
 */
import { annotatorKey, finishedKey, isSomebodyElse } from './annotator/identity';
import { noted } from './annotator/notes';
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

async function ask(link: string): Promise<HeadStart | null> {
  const body = JSON.stringify({ link, annotator_key: annotatorKey(link) });
  const headers = { 'Content-Type': 'application/json' };
  const reply = await fetch('/api/annotate/sessions', { method: 'POST', headers, body });
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
  const reply = await fetch(`/api/annotate/leases/${lease}/images/small`, { headers });
  if (!reply.ok) throw new Error(`images: ${reply.status}`);
  return reply.arrayBuffer();
}

const link = decodeURIComponent(location.pathname.split('/')[2] ?? '');
const isNew = noted(finishedKey(link)) === null && !isSomebodyElse(link);
if (location.pathname.startsWith('/a/') && isNew) {
  start = ask(link).catch(() => null);
}
