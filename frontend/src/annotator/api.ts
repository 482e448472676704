/** The annotators' calls, by name. */
import { request } from '../api/client';
import type { AnswerIn, AnswerOut, DraftIn, DraftSaved, Handout, Session } from '../api/types';

const ROOT = '/api/annotate';

export function openSession(link: string, annotatorKey: string): Promise<Session> {
  const body = { link, annotator_key: annotatorKey };
  return request(`${ROOT}/sessions`, { method: 'POST', body });
}

export function leaseNextGrid(token: string): Promise<Handout> {
  return request(`${ROOT}/leases`, { method: 'POST', token });
}

export function saveDraft(token: string, lease: string, body: DraftIn): Promise<DraftSaved> {
  return request(`${ROOT}/leases/${lease}/draft`, { method: 'PUT', token, body, keepalive: true });
}

export function submitAnswer(
  token: string,
  lease: string,
  idempotencyKey: string,
  body: AnswerIn,
): Promise<AnswerOut> {
  const headers = { 'Idempotency-Key': idempotencyKey };
  return request(`${ROOT}/leases/${lease}/answer`, { method: 'POST', token, headers, body });
}
