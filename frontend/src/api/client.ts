/**
 * The requester's API: openapi-fetch over the schema that the server's code makes, so that paths,
 * parameters, bodies and replies are checked. What the server refuses is thrown as ApiError.
 */
import createClient from 'openapi-fetch';
import { cutOff, problemOf, unreachable } from './errors';
import type { paths } from './schema';
import type { Page } from './types';
import { addressOf } from '../lib/readOnlyView';

/** The operations below a path, for which the parameters of that path are given already. */
type Below<Root extends string, Given extends string> = {
  [Path in keyof paths as Path extends `${Root}${infer Rest}` ? Rest : never]: {
    [Method in keyof paths[Path]]: Without<paths[Path][Method], Given>;
  };
};
type Without<Operation, Given extends string> = Operation extends {
  parameters: { path: infer Path };
}
  ? Omit<Operation, 'parameters'> & {
      parameters: Omit<Operation['parameters'], 'path'> & Remaining<Omit<Path, Given>>;
    }
  : Operation;
type Remaining<Path> = keyof Path extends never ? { path?: never } : { path: Path };

const ROOT = '/api/v1';
const CAMPAIGN = `${ROOT}/campaigns/{campaign_id}` as const;

function clientOf<Paths extends object>(root: string) {
  return createClient<Paths>({
    baseUrl: location.origin + addressOf(root),
    headers: { Accept: 'application/json' },
    fetch: send,
  });
}

/** Everything that belongs to no single campaign or collection. */
export const api = () => clientOf<Below<typeof ROOT, never>>(ROOT);

export const campaignApi = (id: string) =>
  clientOf<Below<typeof CAMPAIGN, 'campaign_id'>>(`${ROOT}/campaigns/${id}`);

export const modelApi = (id: string, version: number) =>
  clientOf<Below<`${typeof CAMPAIGN}/models/{version}`, 'campaign_id' | 'version'>>(
    `${ROOT}/campaigns/${id}/models/${version}`,
  );

export const collectionApi = (id: string) =>
  clientOf<Below<`${typeof ROOT}/collections/{collection_id}`, 'collection_id'>>(
    `${ROOT}/collections/${id}`,
  );

export type CampaignApi = ReturnType<typeof campaignApi>;
export type ModelApi = ReturnType<typeof modelApi>;

/** Parameters of an operation's path. */
export function at<const Path>(path: Path): { params: { path: Path } } {
  return { params: { path } };
}

/** What the server replies; rejects with ApiError. */
export async function reply<Data>(call: Promise<{ data?: Data }>): Promise<Data> {
  try {
    return (await call).data as Data;
  } catch (error) {
    // What a browser throws when the body of a reply ends too early, as it is or as JSON.
    if (error instanceof TypeError || error instanceof SyntaxError) throw cutOff();
    throw error;
  }
}

/** All items of a list, page by page. */
export async function allItems<Item>(
  pageOf: (query: { limit: number; after?: string }) => Promise<{ data?: Page<Item> }>,
): Promise<Item[]> {
  const items: Item[] = [];
  let after: string | null = null;
  do {
    const page: Page<Item> = await reply(pageOf({ limit: 1000, ...(after ? { after } : {}) }));
    items.push(...page.items);
    after = page.next;
  } while (after !== null);
  return items;
}

async function send(request: Request): Promise<Response> {
  let response: Response;
  try {
    // A copy: a body can be sent once, and may be needed again.
    response = await fetch(request.clone());
  } catch (error) {
    if (request.signal.aborted) throw error;
    throw unreachable();
  }
  if (response.ok) return response;
  const problem = problemOf(response.status, await response.json().catch(() => null));
  if (problem.code === 'confirmation_required') {
    const { confirmIdentity } = await import('./confirm');
    const reason = 'This is a sensitive action, and you signed in a while ago.';
    if (await confirmIdentity(reason)) return send(request);
  }
  throw problem;
}
