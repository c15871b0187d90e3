/** Returns the `code` of an error of Node or of a driver, e.g. `ENOENT`. */
export const nodeErrorCode = (error: unknown): string | undefined =>
  typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'string'
    ? error.code
    : undefined;
