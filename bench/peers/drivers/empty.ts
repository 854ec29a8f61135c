/** Node alone: what W6 is measured above. */
import type { Driver } from '../driver.ts';

export const driver: Driver = {
  define: () => ({ open: () => async () => ({ ended: 'nothing' }) }),
};
