; include typescript
