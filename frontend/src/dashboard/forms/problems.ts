/** What is wrong with what was typed into a field, in the words of the page. Nothing is ''. */
import { amount, centsOf } from '../../lib/format';
import type { Field } from './schema';

export interface Limits {
  label: string;
  currency: string;
  optional?: boolean;
  minimum?: number | undefined;
  maximum?: number | undefined;
}

/** Amounts without cents where they are whole. */
function whole(cents: number, currency: string): string {
  return amount(cents, currency).replace(/\.00\b/, '');
}

export function amountProblem(text: string, limits: Limits): string {
  const { label, currency, optional = false, minimum = 0, maximum } = limits;
  const empty = text.trim() === '';
  if (empty && optional) return '';
  const cents = centsOf(text);
  if (empty || (cents === null && !isAmount(text))) {
    return `${label}: enter an amount such as 1.50${minimum > 0 ? '' : ', or 0 for none'}.`;
  }
  if (cents === null) return `${label}: at most two decimals, such as 1.50.`;
  if (cents < minimum) return `${label}: at least ${whole(minimum, currency)}.`;
  if (maximum !== undefined && cents > maximum)
    return `${label}: at most ${whole(maximum, currency)}.`;
  return '';
}

function isAmount(text: string): boolean {
  const value = Number(text.replace(',', '.'));
  return Number.isFinite(value) && value >= 0;
}

/** Of a number as it is shown: shares in per cent. `bad`: the browser cannot read it. */
export function numberProblem(field: Field, text: string, bad = false): string {
  const { title, minimum, maximum, open, step } = field;
  const unit = field.control === 'percent' ? 100 : 1;
  if (text.trim() === '' && !bad) return field.required ? `${title}: enter a number.` : '';
  const value = Number(text) / unit;
  if (bad || !Number.isFinite(value)) return `${title}: enter a number.`;
  if (step === 1 && !Number.isInteger(value)) return `${title}: enter a whole number.`;
  const limit = (end: number) => shown(field, end);
  if (minimum !== undefined && (value < minimum || (open && value === minimum)))
    return `${title}: ${open ? 'more than' : 'at least'} ${limit(minimum)}.`;
  if (maximum !== undefined && (value > maximum || (open && value === maximum)))
    return `${title}: ${open ? 'less than' : 'at most'} ${limit(maximum)}.`;
  return '';
}

function shown(field: Field, end: number): string {
  return field.control === 'percent' ? `${percentOf(end)} %` : end.toLocaleString('en');
}

export function textProblem(
  { title, required, minLength, maxLength }: Field,
  text: string,
): string {
  const least = minLength ?? 0;
  const length = text.trim().length;
  if ((required || least > 0) && length === 0) return `${title}: enter a text.`;
  if (length < least) return `${title}: at least ${least} characters.`;
  if (maxLength !== undefined && text.length > maxLength)
    return `${title}: at most ${maxLength.toLocaleString('en')} characters.`;
  return '';
}

/** A share in per cent, without the digits that binary fractions add. */
export function percentOf(share: number): number {
  return Number((100 * share).toFixed(6));
}

export function shareOf(percent: number): number {
  return Number((percent / 100).toFixed(8));
}
