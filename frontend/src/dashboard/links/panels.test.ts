import { describe, expect, it } from 'vitest';
import type { Link, Panel } from '../../api/types';
import { aboutPanel, bodyOf, filledFor, isForPanel, placeholdersOf, settingsOf } from './panels';

const SONA = {
  key: 'sona',
  title: 'SONA',
  help: '',
  parameters: [{ name: 'survey_code', placeholder: '%SURVEY_CODE%' }],
  person: 'survey_code',
  person_form: 'digits',
  returns: { completed: 'https://….sona-systems.com/?x={id}' },
} as Panel;

const RETURNS = { completed: '', screened_out: '', no_consent: '', over_quota: '' };
const LINK = { parameters: [], person: '', returns: RETURNS, framed_by: [] } as unknown as Link;

describe('links for panels', () => {
  it('are filled in from a preset, but for the sites that may frame them', () => {
    const before = { ...settingsOf(null), framedBy: 'https://a.test' };
    expect(bodyOf(filledFor(SONA, before))).toEqual({
      parameters: SONA.parameters,
      person: 'survey_code',
      person_required: true,
      person_form: 'digits',
      returns: { ...RETURNS, completed: 'https://….sona-systems.com/?x={id}' },
      framed_by: ['https://a.test'],
    });
  });

  it('come from the form as they went into it', () => {
    const link = {
      ...LINK,
      parameters: [{ name: 'a', placeholder: '' }, ...SONA.parameters],
      person: 'survey_code',
      person_required: false,
      person_form: 'word',
      framed_by: ['https://a.test', 'https://b.test'],
    } as Link;
    const { parameters, person, person_required, person_form, returns, framed_by } = link;
    const sent = { parameters, person, person_required, person_form, returns, framed_by };
    expect(bodyOf(settingsOf(link))).toEqual(sent);
    expect(bodyOf(settingsOf(null))).toMatchObject({ parameters: [], person: '', framed_by: [] });
  });

  it('send no empty lines', () => {
    const settings = settingsOf(null);
    settings.parameters.push({ name: ' ', placeholder: '' }, { name: 'b', placeholder: '' });
    settings.person = 1;
    expect(bodyOf(settings)).toMatchObject({ parameters: [{ name: 'b' }], person: 'b' });
  });

  it('say in a line what they do, and what the panel replaces', () => {
    const both = [...SONA.parameters, { name: 'b', placeholder: '' }];
    expect(placeholdersOf({ ...LINK, parameters: both })).toBe('%SURVEY_CODE%');
    expect(isForPanel(LINK)).toBe(false);
    const link = {
      ...LINK,
      parameters: [{ name: 'source' }, { name: 'id' }],
      person: 'id',
      returns: { ...RETURNS, completed: 'https://x', over_quota: 'https://y' },
      framed_by: ['https://a.test'],
    } as Link;
    expect(isForPanel(link)).toBe(true);
    expect(aboutPanel(link)).toBe(
      'People are recognized by id. Kept parameters: source. ' +
        'Sends people back: completed, over quota. Can be framed by https://a.test.',
    );
  });
});
