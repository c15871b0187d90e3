import { z } from 'zod';

/** Collection `apps`, by app id: which origins browsers may come from. */
export const appDocument = z.object({ id: z.string(), name: z.string(), origins: z.array(z.string()) });
export type AppDocument = z.infer<typeof appDocument>;
