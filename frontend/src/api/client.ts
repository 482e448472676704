/** The only place that talks HTTP. Errors come back as problem+json and leave here as ApiError. */

import type { Page } from './types';

export class ApiError extends Error {
  constructor(
    /** Stable name of the error, such as `lease_not_found`; `network` when no reply came. */
    readonly code: string,
    /** HTTP status; 0 when no reply came. */
    readonly status: number,
    /** A sentence for a human. */
    readonly detail: string,
  ) {
    super(detail);
    this.name = 'ApiError';
  }

  /** The same request may succeed later: no reply, too many requests, or the server's own trouble. */
  get temporary(): boolean {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

export interface RequestOptions {
  method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Sent as JSON; a FormData is sent as it is. */
  body?: unknown;
  token?: string;
  headers?: Record<string, string>;
  signal?: AbortSignal;
  /** Lets a small request finish while the page is being left. */
  keepalive?: boolean;
  /** `omit` sends no cookies. */
  credentials?: RequestCredentials;
}

export async function request<T>(path: string, options: RequestOptions = {}): Promise<T> {
  const response = await send(path, options);
  if (response.status === 204) return undefined as T;
  return body(options, () => response.json() as Promise<T>);
}

/** All items of a list, page by page. */
export async function requestAll<Item>(path: string): Promise<Item[]> {
  const items: Item[] = [];
  let after: string | null = null;
  do {
    const query = new URLSearchParams({ limit: '1000', ...(after === null ? {} : { after }) });
    const page: Page<Item> = await request(`${path}${path.includes('?') ? '&' : '?'}${query}`);
    items.push(...page.items);
    after = page.next;
  } while (after !== null);
  return items;
}

/** The reply's bytes. */
export async function requestBytes(
  path: string,
  options: RequestOptions = {},
): Promise<ArrayBuffer> {
  const response = await send(path, options);
  return body(options, () => response.arrayBuffer());
}

async function body<T>({ signal }: RequestOptions, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError('network', 0, 'The connection was lost while the server was replying.');
  }
}

async function send(path: string, options: RequestOptions): Promise<Response> {
  const { method = 'GET', body, token, signal, keepalive, credentials = 'same-origin' } = options;
  const headers = new Headers(options.headers);
  headers.set('Accept', 'application/json');
  if (token !== undefined) headers.set('Authorization', `Bearer ${token}`);
  const init: RequestInit = { method, headers, credentials };
  if (body instanceof FormData) {
    init.body = body;
  } else if (body !== undefined) {
    headers.set('Content-Type', 'application/json');
    init.body = JSON.stringify(body);
  }
  if (signal) init.signal = signal;
  if (keepalive) init.keepalive = true;

  let response: Response;
  try {
    response = await fetch(path, init);
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError('network', 0, 'The server cannot be reached. Check your connection.');
  }
  if (response.ok) return response;
  const problem = await problemOf(response);
  if (problem.code === 'confirmation_required') {
    // Loaded when it is needed: annotators never do.
    const { confirmIdentity } = await import('./confirm');
    const reason = 'This is a sensitive action, and you signed in a while ago.';
    if (await confirmIdentity(reason)) return send(path, options);
  }
  throw problem;
}

async function problemOf(response: Response): Promise<ApiError> {
  const problem: unknown = await response.json().catch(() => null);
  const fields = (problem ?? {}) as { code?: unknown; detail?: unknown };
  return new ApiError(
    typeof fields.code === 'string' ? fields.code : `http_${response.status}`,
    response.status,
    typeof fields.detail === 'string'
      ? fields.detail
      : `The server replied with an error (${response.status}).`,
  );
}
