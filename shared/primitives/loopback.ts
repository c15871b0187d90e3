const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);

/** Whether a host, as `URL.hostname` has it, is this machine: nobody can listen in between but who has that machine. */
export const isLoopback = (hostname: string): boolean => LOOPBACK.has(hostname);
