import type { LoginMethod } from '../../../schemas/values.ts';

/** The methods by which people can log in with these settings. */
export type OfferedMethods = readonly LoginMethod[];
export const OFFERED_METHODS = Symbol('OfferedMethods');
