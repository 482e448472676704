/** What a request may end with instead of a reply. */

export class ApiError extends Error {
  constructor(
    /** Stable name of the error, such as `lease_not_found`; `network` when no reply came. */
    readonly code: string,
    /** HTTP status; 0 when no reply came. */
    readonly status: number,
    /** A sentence for a human. */
    readonly detail: string,
    /** Where the link sends who is refused; null where it does not. */
    readonly returnAddress: string | null = null,
    /** What exactly is wrong, without advice; null where `detail` says it. */
    readonly reason: string | null = null,
    /** Fields of the request that are to blame, as `annotation.gold_share`, if that is known. */
    readonly fields: readonly string[] = [],
    /** `detail` for people who see a form. */
    readonly words: string = detail,
  ) {
    super(detail);
    this.name = 'ApiError';
  }

  /** The same request may succeed later: no reply, too many requests, or the server's own trouble. */
  get temporary(): boolean {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

export function unreachable(): ApiError {
  return new ApiError('network', 0, 'The server cannot be reached. Check your connection.');
}

export function cutOff(): ApiError {
  const detail = 'The connection was lost while the server was replying.';
  return new ApiError('network', 0, detail);
}

/** The error that a reply's status and body (problem+json, or anything else) stand for. */
export function problemOf(status: number, body: unknown): ApiError {
  const { code, detail, return_address, reason, fields, words } = (body ?? {}) as Record<
    string,
    unknown
  >;
  const text =
    typeof detail === 'string' ? detail : `The server replied with an error (${status}).`;
  return new ApiError(
    typeof code === 'string' ? code : `http_${status}`,
    status,
    text,
    typeof return_address === 'string' ? return_address : null,
    typeof reason === 'string' ? reason : null,
    Array.isArray(fields) ? fields.map(String) : [],
    typeof words === 'string' ? words : text,
  );
}
