// The one place that names the view library, so that pages read without knowing where it comes from.
export {
  createContext,
  html,
  render,
  useContext,
  useEffect,
  useErrorBoundary,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from '/assets/vendor/htm-preact.js';
