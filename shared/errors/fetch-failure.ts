import { nodeErrorCode } from './node-error-code.ts';

/**
 * Returns why `fetch` failed, in one line: undici's message is "fetch failed", and its cause has the reason. Names the
 * call and the code of a failed connection, not the cause's message, which often has the host in it.
 */
export const fetchFailure = (error: unknown): string => {
  const { cause = error } = Object(error) as { cause?: unknown };
  const { syscall, message = cause } = Object(cause) as { syscall?: string; message?: unknown };
  const code = nodeErrorCode(cause);
  if (code === undefined) return String(message);
  return syscall === undefined ? code : `${syscall} ${code}`;
};
