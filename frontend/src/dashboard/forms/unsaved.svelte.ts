/** Which fields of a form hold something that is not saved, and why. */
import { getContext, setContext } from 'svelte';
import { SvelteMap, SvelteSet } from 'svelte/reactivity';

const KEY = Symbol('unsaved fields');

export class UnsavedFields {
  /** Names of fields that are on the page, with their titles. */
  readonly shown = new SvelteMap<string, string>();
  /** Of these, those whose text cannot be saved. */
  readonly wrong = new SvelteSet<string>();
  /** Of these, those that are saved once they are left. */
  readonly typing = new SvelteSet<string>();
  /** What the server refused and why, by name. */
  refused = $state.raw<Record<string, string>>({});

  /** Titles of the fields on the page that are not saved. */
  get titles(): string[] {
    return [...this.shown]
      .filter(([name]) => this.wrong.has(name) || name in this.refused)
      .map(([, title]) => title);
  }

  /** Whether a field on the page is not saved. */
  get some(): boolean {
    return this.titles.length > 0;
  }

  /** Why fields that are not on the page were refused. */
  get elsewhere(): string {
    return Object.entries(this.refused)
      .filter(([name]) => !this.shown.has(name))
      .map(([, problem]) => problem)
      .join(' ');
  }

  /** Says of a field that says itself what is wrong whether it can be saved. */
  mark(name: string, title: string, isWrong: boolean): void {
    this.shown.set(name, title);
    if (isWrong) this.wrong.add(name);
    else this.wrong.delete(name);
  }

  /** What a form says next to its button. */
  status(saved: string): string {
    if (this.some) return `Not saved: ${this.titles.join(', ')}`;
    return this.typing.size > 0 ? '' : saved;
  }
}

/** For the fields of this component. */
export function provideUnsaved(fields: UnsavedFields): UnsavedFields {
  return setContext(KEY, fields);
}

export function unsavedFields(): UnsavedFields | undefined {
  return getContext(KEY);
}
