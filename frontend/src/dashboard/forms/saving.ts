/** Saves what can be saved of a form: a field that the server refuses does not hold up the others. */
import { ApiError } from '../../api/errors';

export type Values = Record<string, unknown>;

export interface Outcome<Stored> {
  /** null: nothing was saved. */
  stored: Stored | null;
  /** What was not saved. */
  refused: Values;
  /** Why not, by name of the field. */
  problems: Record<string, string>;
}

/** Rejects with what is no field's fault, such as a server that cannot be reached. */
export async function saveValid<Stored>(
  values: Values,
  nested: readonly string[],
  patch: (values: Values) => Promise<Stored>,
): Promise<Outcome<Stored>> {
  let left = values;
  let refused: Values = {};
  const problems: Record<string, string> = {};
  while (Object.keys(left).length > 0) {
    try {
      return { stored: await patch(left), refused, problems };
    } catch (problem) {
      if (!(problem instanceof ApiError)) throw problem;
      const paths = blamed(problem, left, nested);
      if (paths.length === 0) throw problem;
      // All of them: half of what belongs together was chosen by nobody.
      for (const path of paths) {
        refused = put(refused, path, at(left, path));
        left = without(left, path);
        problems[path.at(-1) as string] = problem.words;
      }
    }
  }
  return { stored: null, refused, problems };
}

/** Values without those of some fields, by the fields' own names. */
export function withoutFields(
  values: Values,
  nested: readonly string[],
  names: ReadonlySet<string>,
): Values {
  return pathsOf(values, nested)
    .filter((path) => names.has(path.at(-1) as string))
    .reduce(without, values);
}

/** Values together with those that others have of some fields, by the fields' own names. */
export function withFields(
  values: Values,
  others: Values,
  nested: readonly string[],
  names: ReadonlySet<string>,
): Values {
  return pathsOf(others, nested)
    .filter((path) => names.has(path.at(-1) as string))
    .reduce((all, path) => put(all, path, at(others, path)), values);
}

type Path = readonly string[];

/** Whether values were refused, rather than not received. */
export function isRefusal(problem: unknown): problem is ApiError {
  return problem instanceof ApiError && (problem.status === 409 || problem.status === 422);
}

/** The fields to blame that were sent. */
function blamed(problem: ApiError, values: Values, nested: readonly string[]): Path[] {
  if (!isRefusal(problem)) return [];
  const sent = pathsOf(values, nested);
  const named = sent.filter((path) =>
    problem.fields.some((field) => path.join('.') === field || path[0] === field),
  );
  return named.length > 0 || sent.length > 1 ? named : sent;
}

function pathsOf(values: Values, nested: readonly string[]): Path[] {
  return Object.entries(values).flatMap(([name, value]): Path[] =>
    nested.includes(name)
      ? Object.keys((value ?? {}) as Values).map((part) => [name, part])
      : [[name]],
  );
}

function at(values: Values, [name, part]: Path): unknown {
  const value = values[name as string];
  return part === undefined ? value : (value as Values)[part];
}

function put(values: Values, [name, part]: Path, value: unknown): Values {
  const key = name as string;
  if (part === undefined) return { ...values, [key]: value };
  return { ...values, [key]: { ...(values[key] as Values | undefined), [part]: value } };
}

function without(values: Values, [name, part]: Path): Values {
  const { [name as string]: value, ...others } = values;
  if (part === undefined) return others;
  const { [part]: _, ...parts } = value as Values;
  return Object.keys(parts).length > 0 ? { ...others, [name as string]: parts } : others;
}
