const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);

/** Whether a host, as `URL.hostname` has it, is this machine: nobody outside of it can listen in on the way. */
export const isLoopback = (hostname: string): boolean => LOOPBACK.has(hostname);
