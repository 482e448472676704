/** The annotators' calls, by name. A bearer token says who calls: cookies are never sent. */
import { cutOff, problemOf, unreachable } from '../api/errors';
import type {
  AnswerIn,
  AnswerOut,
  DraftIn,
  DraftSaved,
  Handout,
  Practice,
  PracticeFeedback,
  Questions,
  RemarkIn,
  ReplyIn,
  Session,
  StageState,
  Step,
} from '../api/types';
import { type Arrival, opening } from './arrival';
import { annotatorKey, reading } from './identity';
import type { Size } from './pictures';

export type Place = 'before' | 'after';
export const ROOT = '/api/v1/annotate';
export const NO_COOKIES = { credentials: 'omit' } as const;

interface Call {
  method?: 'GET' | 'POST' | 'PUT';
  token?: string;
  /** Sent as JSON. */
  body?: unknown;
  headers?: Record<string, string>;
  /** Lets a small request finish while the page is being left. */
  keepalive?: boolean;
}

async function request<T>(path: string, call: Call): Promise<T> {
  const response = await send(path, call);
  return response.status === 204 ? (undefined as T) : read(response.json() as Promise<T>);
}

async function send(path: string, { token, body, ...init }: Call): Promise<Response> {
  const headers = new Headers({ ...init.headers, Accept: 'application/json' });
  if (token !== undefined) headers.set('Authorization', `Bearer ${token}`);
  if (body !== undefined) headers.set('Content-Type', 'application/json');
  const sent = body === undefined ? {} : { body: JSON.stringify(body) };
  const response = await fetch(ROOT + path, {
    method: 'GET',
    ...init,
    ...sent,
    ...NO_COOKIES,
    headers,
  }).catch(() => {
    throw unreachable();
  });
  if (response.ok) return response;
  throw problemOf(response.status, await response.json().catch(() => null));
}

function read<T>(body: Promise<T>): Promise<T> {
  return body.catch(() => {
    throw cutOff();
  });
}

/** Path and body of the request that opens a session. */
export function openingOf(arrival: Arrival): { path: string; body: Record<string, string> } {
  const language = reading();
  if (arrival.channel !== 'link') {
    const { path, body } = opening(arrival);
    return { path, body: { ...body, language } };
  }
  const { link, place } = arrival;
  // What of it is kept is for the server to say.
  const query = location.search.slice(1);
  return { path: '/sessions', body: { link, annotator_key: annotatorKey(place), query, language } };
}

export function openSession(arrival: Arrival, password = ''): Promise<Session> {
  const { path, body } = openingOf(arrival);
  return request(path, { method: 'POST', body: password ? { ...body, password } : body });
}

export function takeStep(token: string, step: Step, consentKey: string): Promise<StageState> {
  return request('/steps', { method: 'POST', token, body: { step, consent_key: consentKey } });
}

/** The questions before or after the grids that are yet to be answered. */
export function askedQuestions(token: string, place: Place): Promise<Questions> {
  return request(`/questions/${place}`, { token });
}

export function sendReply(token: string, place: Place, body: ReplyIn): Promise<StageState> {
  return request(`/questions/${place}`, { method: 'POST', token, body });
}

export function currentPractice(token: string): Promise<Practice> {
  return request('/practice', { token });
}

export function tryPractice(
  token: string,
  body: { images: number[]; groups: number[]; number: number; tries: number },
): Promise<PracticeFeedback> {
  return request('/practice', { method: 'POST', token, body });
}

export function leaseNextGrid(token: string): Promise<Handout> {
  return request('/leases', { method: 'POST', token });
}

export function leaseAhead(token: string): Promise<Handout> {
  return request('/leases/ahead', { method: 'POST', token });
}

export async function leaseImages(token: string, lease: string, size: Size): Promise<ArrayBuffer> {
  return read((await send(`/leases/${lease}/images/${size}`, { token })).arrayBuffer());
}

export function saveDraft(token: string, lease: string, body: DraftIn): Promise<DraftSaved> {
  return request(`/leases/${lease}/draft`, { method: 'PUT', token, body, keepalive: true });
}

export function submitAnswer(
  token: string,
  lease: string,
  idempotencyKey: string,
  body: AnswerIn,
): Promise<AnswerOut> {
  const headers = { 'Idempotency-Key': idempotencyKey };
  return request(`/leases/${lease}/answer`, { method: 'POST', token, headers, body });
}

export function returnLease(token: string, lease: string, why: string): Promise<void> {
  return request(`/leases/${lease}/return`, { method: 'POST', token, body: { why } });
}

export function sendRemark(token: string, body: RemarkIn): Promise<void> {
  return request('/remarks', { method: 'POST', token, body });
}

/** One grid beyond the assignment's own. */
export function takeMore(token: string): Promise<Handout> {
  return request('/more', { method: 'POST', token });
}

/** The browser is about to hand the work in on the platform. */
export function handIn(token: string): Promise<void> {
  return request('/hand-in', { method: 'POST', token });
}

export function tellPresence(token: string, left: boolean): Promise<void> {
  return request('/presence', { method: 'POST', token, body: { left }, keepalive: left });
}
