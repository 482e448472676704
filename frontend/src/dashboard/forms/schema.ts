/** Fields of a form, read from a JSON schema that the server makes from its pydantic models. */

export type Control =
  'text' | 'long-text' | 'number' | 'money' | 'choice' | 'tick' | 'ticks' | 'list' | 'hidden';

export interface Field {
  readonly name: string;
  readonly title: string;
  readonly help: string;
  readonly control: Control;
  readonly choices: readonly string[];
  /** Names of choices where the value alone does not say enough. */
  readonly labels: Readonly<Record<string, string>>;
  readonly minimum: number | undefined;
  readonly maximum: number | undefined;
  readonly step: number | 'any';
  readonly maxLength: number | undefined;
  readonly fallback: unknown;
}

interface Property {
  type?: string;
  title?: string;
  description?: string;
  enum?: string[];
  labels?: Record<string, string>;
  anyOf?: Property[];
  items?: Property;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  exclusiveMaximum?: number;
  maxLength?: number;
  default?: unknown;
  unit?: string;
}

/** As `MONEY` in app/core/fields.py. */
const MONEY = 'hundredths of the currency';
/** Longer texts get several lines. */
const ONE_LINE = 500;

export function fieldsOf(schema: Record<string, unknown>): Field[] {
  const properties = (schema['properties'] ?? {}) as Record<string, Property>;
  return Object.entries(properties).map(([name, property]) => fieldOf(name, property));
}

function fieldOf(name: string, property: Property): Field {
  // An optional value is a choice between its type and null.
  const value = property.anyOf?.find(({ type }) => type !== 'null') ?? property;
  return {
    name,
    title: property.title ?? name,
    help: property.description ?? '',
    control: property.unit === MONEY ? 'money' : controlOf(value),
    choices: value.enum ?? value.items?.enum ?? [],
    labels: property.labels ?? {},
    minimum: value.minimum ?? value.exclusiveMinimum,
    maximum: value.maximum ?? value.exclusiveMaximum,
    step: value.type === 'integer' ? 1 : 'any',
    maxLength: value.maxLength,
    fallback: property.default,
  };
}

function controlOf(value: Property): Control {
  if (value.enum) return 'choice';
  if (value.type === 'array') {
    if (value.items?.enum) return 'ticks';
    return value.items?.type === 'string' ? 'list' : 'hidden';
  }
  if (value.type === 'boolean') return 'tick';
  if (value.type === 'integer' || value.type === 'number') return 'number';
  return (value.maxLength ?? 0) > ONE_LINE * 4 ? 'long-text' : 'text';
}

/** What a number field holds: null when it is empty, undefined while it is no number. */
export function numberOf(text: string): number | null | undefined {
  if (text.trim() === '') return null;
  const value = Number(text);
  return Number.isFinite(value) ? value : undefined;
}

/** What a list field holds: words apart by commas or blanks. */
export function listOf(text: string): string[] {
  return text.split(/[\s,;]+/).filter((word) => word !== '');
}
