import { chainSteps } from './chain-steps.ts';
import { httpSteps } from './http-steps.ts';
import { readerSteps } from './reader-steps.ts';
import { socketSteps } from './socket-steps.ts';

/** Every step that a case may have. */
export const stepsByName = { ...socketSteps, ...readerSteps, ...httpSteps, ...chainSteps };
export type StepName = keyof typeof stepsByName;
