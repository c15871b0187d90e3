import { Refusal } from '../../../shared/errors/refusal.ts';

export const noBot = (): Refusal => new Refusal('provider_not_found', 'no bot is set up here');
