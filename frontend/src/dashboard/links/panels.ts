/** What the form of a link says of people from panels, and what is sent of it. */
import type { Link, NewLink, Panel } from '../../api/types';

export type Outcome = keyof Link['returns'];
export type PersonForm = Link['person_form'];

/** The form's fields. A parameter is marked as the person's id by its place in the list. */
export interface PanelSettings {
  parameters: { name: string; placeholder: string }[];
  /** Of the parameter that identifies the person; -1: none. */
  person: number;
  personRequired: boolean;
  personForm: PersonForm;
  returns: Record<Outcome, string>;
  /** One site a line. */
  framedBy: string;
}

export const OUTCOMES: readonly [Outcome, string, string][] = [
  ['completed', 'Completed', 'They have done everything.'],
  ['screened_out', 'Screened out', 'They passed no practice grid, or were stopped by a check.'],
  ['no_consent', 'No consent', 'They did not agree to the consent text.'],
  [
    'over_quota',
    'Over quota',
    'No place was free, the link was closed, or nothing was left to do.',
  ],
];

export const FORMS: readonly [PersonForm, string][] = [
  ['any', 'letters, digits and . _ ~ @ + : = -'],
  ['word', 'letters, digits, - and _'],
  ['digits', 'digits only'],
  ['hex', 'digits and a to f'],
  ['uuid', 'UUID'],
];

const NOWHERE = { completed: '', screened_out: '', no_consent: '', over_quota: '' };

export function settingsOf(link: Link | null): PanelSettings {
  const parameters = (link?.parameters ?? []).map(({ name, placeholder = '' }) => ({
    name,
    placeholder,
  }));
  return {
    parameters,
    person: parameters.findIndex(({ name }) => name === link?.person),
    personRequired: link?.person_required ?? true,
    personForm: link?.person_form ?? 'any',
    returns: { ...NOWHERE, ...link?.returns },
    framedBy: (link?.framed_by ?? []).join('\n'),
  };
}

/** The fields as the panel has them; which sites may frame the page stays. */
export function filledFor(panel: Panel, settings: PanelSettings): PanelSettings {
  const { parameters } = panel;
  return {
    parameters: parameters.map(({ name, placeholder = '' }) => ({ name, placeholder })),
    person: parameters.findIndex(({ name }) => name === panel.person),
    personRequired: true,
    personForm: panel.person_form,
    returns: { ...NOWHERE, ...panel.returns },
    framedBy: settings.framedBy,
  };
}

type Body = Required<
  Pick<
    NewLink,
    'parameters' | 'person' | 'person_required' | 'person_form' | 'returns' | 'framed_by'
  >
>;

export function bodyOf(settings: PanelSettings): Body {
  const { parameters, person, personRequired, personForm, returns, framedBy } = settings;
  return {
    // An empty line is nothing that anybody wanted.
    parameters: parameters.filter(({ name, placeholder }) => name.trim() || placeholder.trim()),
    person: parameters[person]?.name ?? '',
    person_required: personRequired,
    person_form: personForm,
    returns,
    framed_by: framedBy.split(/\s+/).filter(Boolean),
  };
}

/** Whether a link does anything with people from other sites. */
export function isForPanel({ parameters, returns, framed_by }: Link): boolean {
  return parameters.length + framed_by.length > 0 || Object.values(returns).some(Boolean);
}

/** What the panel replaces in the link's address. */
export function placeholdersOf({ parameters }: Link): string {
  return parameters
    .map(({ placeholder }) => placeholder)
    .filter(Boolean)
    .join(', ');
}

/** "People are recognized by survey_code. Sends people back: completed." */
export function aboutPanel(link: Link): string {
  const { parameters, person, returns, framed_by } = link;
  const names = parameters.map(({ name }) => name).filter((name) => name !== person);
  const ways = OUTCOMES.filter(([outcome]) => returns[outcome]).map(([, title]) =>
    title.toLowerCase(),
  );
  return [
    person && `People are recognized by ${person}.`,
    names.length > 0 && `Kept parameters: ${names.join(', ')}.`,
    ways.length > 0 && `Sends people back: ${ways.join(', ')}.`,
    framed_by.length > 0 && `Can be framed by ${framed_by.join(', ')}.`,
  ]
    .filter(Boolean)
    .join(' ');
}
