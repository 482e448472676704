/** The annotators' calls, by name. */
import { request, requestBytes } from '../api/client';
import type {
  AnswerIn,
  AnswerOut,
  DraftIn,
  DraftSaved,
  Handout,
  Practice,
  PracticeFeedback,
  RemarkIn,
  Session,
  StageState,
  Step,
} from '../api/types';
import type { Size } from './pictures';

const ROOT = '/api/annotate';

export function openSession(link: string, annotatorKey: string): Promise<Session> {
  const body = { link, annotator_key: annotatorKey };
  return request(`${ROOT}/sessions`, { method: 'POST', body });
}

export function takeStep(token: string, step: Step): Promise<StageState> {
  return request(`${ROOT}/steps`, { method: 'POST', token, body: { step } });
}

export function currentPractice(token: string): Promise<Practice> {
  return request(`${ROOT}/practice`, { token });
}

export function tryPractice(
  token: string,
  body: { images: number[]; groups: number[] },
): Promise<PracticeFeedback> {
  return request(`${ROOT}/practice`, { method: 'POST', token, body });
}

export function leaseNextGrid(token: string): Promise<Handout> {
  return request(`${ROOT}/leases`, { method: 'POST', token });
}

export function leaseAhead(token: string): Promise<Handout> {
  return request(`${ROOT}/leases/ahead`, { method: 'POST', token });
}

export function leaseImages(token: string, lease: string, size: Size): Promise<ArrayBuffer> {
  return requestBytes(`${ROOT}/leases/${lease}/images/${size}`, { token });
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

export function returnLease(token: string, lease: string, why: string): Promise<void> {
  return request(`${ROOT}/leases/${lease}/return`, { method: 'POST', token, body: { why } });
}

export function sendRemark(token: string, body: RemarkIn): Promise<void> {
  return request(`${ROOT}/remarks`, { method: 'POST', token, body });
}
