import { z } from 'zod';

/** Refuses a brace in the host: there, another program has not replaced a variable of its own. */
export const httpUrl = z.url({
  protocol: /^https?$/,
  hostname: /^([\w.-]+|\[[\da-f:.]+\])$/,
  error: 'is not an http or https URL',
});
