const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/** Whether a host, as `URL.hostname` has it, is this machine: nobody can listen in between but who has that machine. */
export const isLoopback = (hostname: string): boolean => LOOPBACK.test(hostname);
