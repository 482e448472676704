/** What the page says of links, in plain words. */
import type { Invitation, Link } from '../../api/types';

export type Access = Link['access'];

export const ACCESS: Record<Access, string> = {
  open: 'anyone who has it',
  password: 'anyone who has it and knows the password',
  listed: 'people on a list',
  single_use: 'anyone who has one of its addresses',
};

/** Choices of the form, with what follows from them. */
export const CHOICES: readonly [Access, string, string][] = [
  ['open', 'Anyone with the link', 'No password is needed.'],
  [
    'password',
    'Anyone with the link and a password',
    'The password is asked for the first time someone opens the link in a browser.',
  ],
  [
    'listed',
    'People on a list',
    'Each person has their own address, which recognizes them in every browser.',
  ],
  [
    'single_use',
    'One assignment for each address',
    'Create as many addresses as you like. Each belongs to the first browser that opens it.',
  ],
];

export const STATES: Record<string, string> = {
  open: 'open',
  paused: 'paused',
  stopped: 'stopped',
};
/** Colours of the badges are those of campaigns' states. */
export const BADGES: Record<string, string> = {
  open: 'running',
  paused: 'paused',
  stopped: 'finished',
};

export const INVITATION_STATES: Record<Invitation['state'], string> = {
  unused: 'not opened yet',
  begun: 'started',
  finished: 'finished',
  revoked: 'revoked',
};

export function isPersonal(access: Access): boolean {
  return access === 'listed' || access === 'single_use';
}

const people = (n: number) => (n === 1 ? '1 person' : `${n} people`);

/** "3 assignments of 20 finished, 2 people at work, 1 begun and left". */
export function workOf(link: Link): string {
  const of = link.places > 0 ? ` of ${link.places}` : '';
  const noun = link.finished === 1 && link.places === 0 ? 'assignment' : 'assignments';
  const parts = [`${link.finished}${of} ${noun} finished`];
  if (link.at_work > 0 && !link.campaign_finished) parts.push(`${people(link.at_work)} at work`);
  if (link.left > 0) parts.push(`${link.left} started and left`);
  if (isPersonal(link.access)) {
    const all = link.addresses === 1 ? '1 address' : `${link.addresses} addresses`;
    parts.push(`${link.used} of ${all} used`);
  }
  return parts.join(', ');
}

/** A file for a spreadsheet, which takes nothing in it for a formula. */
export function csvOf(rows: readonly (readonly string[])[]): string {
  return rows.map((row) => row.map(cell).join(',') + '\r\n').join('');
}

function cell(text: string): string {
  const neutral = /^[=+\-@\t\r\n\0]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(neutral) ? `"${neutral.replaceAll('"', '""')}"` : neutral;
}
