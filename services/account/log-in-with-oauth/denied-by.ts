import { Refusal } from '../../../shared/errors/refusal.ts';

/** The form of every code that a provider answers; anybody can put other text into the address. */
const ERROR_CODE = /^[\w.:-]{1,64}$/;

/** The refusal of a login that the person, or the provider, denied. */
export const deniedBy = (error: string): Refusal =>
  new Refusal('oauth_denied', ERROR_CODE.test(error) ? `the provider answered ${error}` : 'the provider gave no code');
