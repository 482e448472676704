/** What the page says of links, in plain words. */
import type { Invitation, Link } from '../../api/types';

export type Access = Link['access'];

export const ACCESS: Record<Access, string> = {
  open: 'whoever has it',
  password: 'whoever has it and knows the password',
  listed: 'the people of a list',
  single_use: 'whoever has one of its addresses',
};

/** Choices of the form, with what follows from them. */
export const CHOICES: readonly [Access, string, string][] = [
  ['open', 'Whoever has the link', 'Nothing is asked for.'],
  [
    'password',
    'Whoever knows a password, too',
    'Asked for the first time that somebody opens the link in a browser.',
  ],
  [
    'listed',
    'The people of a list',
    'Each has an address of their own, which knows them again in every browser.',
  ],
  [
    'single_use',
    'One assignment for each address',
    'As many addresses as you like; each belongs to the first browser that opens it.',
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
  begun: 'has begun',
  finished: 'has finished',
  revoked: 'taken back',
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
  if (link.at_work > 0) parts.push(`${people(link.at_work)} at work`);
  if (link.left > 0) parts.push(`${link.left} begun and left`);
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
