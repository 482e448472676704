/** Fields of a form, read from a JSON schema that the server makes from its pydantic models. */

export type Control =
  | 'text'
  | 'long-text'
  | 'number'
  | 'percent'
  | 'money'
  | 'choice'
  | 'tick'
  | 'ticks'
  | 'list'
  | 'lines'
  | 'hidden';

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
  /** Whether the ends of the range are allowed themselves. */
  readonly open: boolean;
  readonly required: boolean;
  readonly step: number | 'any';
  readonly minLength: number | undefined;
  readonly maxLength: number | undefined;
  /** Of a long text. */
  readonly lines: number;
  readonly fallback: unknown;
  /** What an empty number means. */
  readonly empty: string;
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
  minLength?: number;
  maxLength?: number;
  lines?: number;
  default?: unknown;
  unit?: string;
  empty?: string;
  one_per_line?: boolean;
  while_running?: string;
}

/** As `MONEY` in app/core/fields.py. */
const MONEY = 'hundredths of the currency';
/** As `SHARE` in app/core/fields.py. */
const SHARE = 'share';
const UNITS: Readonly<Record<string, Control>> = { [MONEY]: 'money', [SHARE]: 'percent' };
/** Longer texts get several lines. */
const ONE_LINE = 500;

type Schema = Record<string, unknown>;

function propertiesOf(schema: Schema): [string, Property][] {
  return Object.entries((schema['properties'] ?? {}) as Record<string, Property>);
}

export function fieldsOf(schema: Schema): Field[] {
  const required = (schema['required'] ?? []) as string[];
  return propertiesOf(schema).map(([name, property]) =>
    fieldOf(name, property, required.includes(name)),
  );
}

/** The fields that a running campaign can change, each with its help for that. */
export function whileRunning(schema: Schema): Schema {
  const properties = propertiesOf(schema)
    .filter(([, property]) => property.while_running !== undefined)
    .map(([name, property]) => [name, { ...property, description: property.while_running }]);
  return { ...schema, properties: Object.fromEntries(properties) };
}

function fieldOf(name: string, property: Property, required: boolean): Field {
  // An optional value is a choice between its type and null.
  const value = property.anyOf?.find(({ type }) => type !== 'null') ?? property;
  return {
    name,
    title: property.title ?? name,
    help: property.description ?? '',
    control: UNITS[property.unit ?? ''] ?? controlOf(value, property.one_per_line),
    choices: value.enum ?? value.items?.enum ?? [],
    labels: property.labels ?? {},
    minimum: value.minimum ?? value.exclusiveMinimum,
    maximum: value.maximum ?? value.exclusiveMaximum,
    open: value.exclusiveMinimum !== undefined || value.exclusiveMaximum !== undefined,
    required,
    step: value.type === 'integer' ? 1 : 'any',
    minLength: value.minLength,
    maxLength: value.maxLength,
    lines: property.lines ?? 4,
    fallback: property.default,
    empty: property.empty ?? 'automatic',
  };
}

function controlOf(value: Property, onePerLine = false): Control {
  if (value.enum) return 'choice';
  if (value.type === 'array') {
    if (onePerLine) return 'lines';
    if (value.items?.enum) return 'ticks';
    return value.items?.type === 'string' ? 'list' : 'hidden';
  }
  if (value.type === 'boolean') return 'tick';
  if (value.type === 'integer' || value.type === 'number') return 'number';
  return value.lines || (value.maxLength ?? 0) > ONE_LINE * 4 ? 'long-text' : 'text';
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

/** What a field with a name on each line holds; empty lines are nothing. */
export function linesOf(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}
